/* Proves that a division by zero is told by its signal. */

int main(void)
{
	volatile int one = 1, zero = 0;
	return one / zero;
}
