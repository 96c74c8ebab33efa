/* A checker whose score.txt has a number first and the rest far behind it: who
 * reads only the start takes it for a score. What must stop it: a score that is
 * longer than what judged reads is refused. */
#include "attack.h"

int main(int argc, char **argv)
{
	char path[4096];
	if (argc < 4)
		return 1;
	snprintf(path, sizeof path, "%s%s", argv[3], "score.txt");
	FILE *f = fopen(path, "w");
	if (!f)
		return 1;
	fprintf(f, "0.5");
	for (int i = 0; i < 1 << 20; i++)
		fputc(' ', f);
	fprintf(f, "points, of 100\n");
	return fclose(f) == 0 ? 42 : 1;
}
