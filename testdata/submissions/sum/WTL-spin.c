/* Proves that the wall limit ends a busy program before its CPU limit does. */

int main(void)
{
	for (;;)
		;
}
