/* Proves that printing nothing is an answer, and a wrong one. */

int main(void)
{
	return 0;
}
