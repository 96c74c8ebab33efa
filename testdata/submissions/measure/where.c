/*
 * Where a program is and may be: the CPU at the start and after R looks (first argument, else 1000) a little apart,
 * how often it changed in between, and the allowed CPUs and memory nodes as the kernel writes them.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void allowed(void)
{
	char line[4096];
	FILE *status = fopen("/proc/self/status", "r");
	if (status == NULL)
		return;
	while (fgets(line, sizeof line, status) != NULL)
		if (strncmp(line, "Cpus_allowed_list:", 18) == 0 || strncmp(line, "Mems_allowed_list:", 18) == 0)
			fputs(line, stdout);
	fclose(status);
}

int main(int argc, char **argv)
{
	long looks = argc > 1 ? atol(argv[1]) : 1000;
	int first = sched_getcpu(), last = first, changes = 0;
	for (long i = 0; i < looks; i++) {
		for (volatile int pause = 0; pause < 1000; pause++)
			;
		int now = sched_getcpu();
		changes += now != last;
		last = now;
	}
	printf("Cpu_first:\t%d\nCpu_last:\t%d\nCpu_changes:\t%d\n", first, last, changes);
	allowed();
	return 0;
}
