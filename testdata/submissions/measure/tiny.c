/* What a run costs at least: ends at once. */
int main(void)
{
	return 0;
}
