/* Proves that CPU time is limited. */

int main(void)
{
	for (;;)
		;
}
