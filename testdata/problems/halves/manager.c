// A Communication task of CMS with two instances: the sum of a list. Instance 0 gets the first half, as its length and
// its numbers, and says one number. Instance 1 gets the second half and then that number, and says the sum of the list.
#include <stdio.h>
#include <stdlib.h>

static void finish(const char *score, const char *message)
{
	puts(score);
	fprintf(stderr, "%s\n", message);
	exit(0);
}

static void give(FILE *to, const long *list, int n)
{
	fprintf(to, "%d\n", n);
	for (int i = 0; i < n; i++)
		fprintf(to, "%ld\n", list[i]);
	fflush(to);
}

int main(int argc, char **argv)
{
	int n;
	long sum = 0, said, *list;
	if (argc != 5 || scanf("%d", &n) != 1 || !(list = calloc((size_t)n + 1, sizeof *list)))
		return 1;
	for (int i = 0; i < n; i++) {
		if (scanf("%ld", list + i) != 1)
			return 1;
		sum += list[i];
	}
	FILE *to[2], *from[2];
	for (int i = 0; i < 2; i++) {
		to[i] = fopen(argv[2 * i + 2], "w");
		from[i] = fopen(argv[2 * i + 1], "r");
		if (!to[i] || !from[i])
			return 1;
	}
	give(to[0], list, n / 2);
	give(to[1], list + n / 2, n - n / 2);
	if (fscanf(from[0], "%ld", &said) != 1)
		finish("0", "instance 0 said no number");
	fprintf(to[1], "%ld\n", said);
	fflush(to[1]);
	if (fscanf(from[1], "%ld", &said) != 1)
		finish("0", "instance 1 said no number");
	if (said != sum)
		finish("0", "translate:wrong");
	finish("1", "translate:success");
}
