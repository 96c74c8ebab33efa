/* Proves that the code a shell gives for SIGKILL is not mistaken for a kill. */

int main(void)
{
	return 137;
}
