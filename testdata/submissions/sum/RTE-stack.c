/* Proves that endless recursion ends at the stack limit, not at the memory limit. */

static int deeper(volatile char *above)
{
	volatile char here[1024];
	here[0] = *above;
	return *above == 0 ? 0 : deeper(here) + here[0];
}

int main(void)
{
	char start = 1;
	return deeper(&start);
}
