int main(void)
{
	for (volatile int x = 0;; x++)
		;
}
