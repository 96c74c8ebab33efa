/* Proves that a checker of numbers accepts what is near and spelled otherwise: accepted by float:1e-6, wrong for tokens. */
#include <stdio.h>

int main(void)
{
	int n;
	double x, total = 0;
	if (scanf("%d", &n) != 1)
		return 1;
	for (int i = 0; i < n && scanf("%lf", &x) == 1; i++)
		total += x;
	printf("%.8e\n", total / n);
	return 0;
}
