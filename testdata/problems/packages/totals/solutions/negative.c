#include <stdio.h>

int main(void)
{
	FILE *in = fopen("totals.in", "r"), *out = fopen("totals.out", "w");
	int n, x, sum = 0;
	for (fscanf(in, "%d", &n); n-- && fscanf(in, "%d", &x) == 1;)
		sum += x > 0 ? x : 0;
	fprintf(out, "%d\n", sum);
	return fclose(out);
}
