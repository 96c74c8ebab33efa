/* Proves that a number off by more than the tolerance is wrong. */
#include <stdio.h>

int main(void)
{
	int n;
	double x, total = 0;
	if (scanf("%d", &n) != 1)
		return 1;
	for (int i = 0; i < n && scanf("%lf", &x) == 1; i++)
		total += x;
	printf("%.2f\n", total / n);
	return 0;
}
