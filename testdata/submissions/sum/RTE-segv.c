/* Proves that a crash is told by its signal. */

int main(void)
{
	volatile int *volatile nowhere = 0;
	return *nowhere;
}
