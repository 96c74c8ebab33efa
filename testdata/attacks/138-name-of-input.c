/* Asks what the files behind its descriptors are called, in /proc/self/fd and by
 * the mappings of stdin in /proc/self/maps. The name of an input tells which test
 * this is, and a folder of the judge where its data lie. What must stop it: the
 * input is a copy in memory without a name. */
#include "attack.h"
#include <fcntl.h>
#include <sys/mman.h>

static void judge(const char *where, const char *name, const char *program)
{
	static const char *const empty[] = {"/memfd:", "/#"};
	for (unsigned i = 0; i < sizeof empty / sizeof *empty; i++)
		if (strncmp(name, empty[i], strlen(empty[i])) == 0)
			return;
	/* The program is mapped; a descriptor of it is not its business. */
	if (name[0] == '/' && (!program || strcmp(name, program) != 0))
		broke("%s says %s", where, name);
}

int main(void)
{
	char link[32], name[4096], program[4096];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length <= 0)
		broke("cannot try: readlink: %s", strerror(errno));
	program[length] = '\0';
	for (int fd = 0; fd < 256; fd++) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		ssize_t n = readlink(link, name, sizeof name - 1);
		if (n > 0) {
			name[n] = '\0';
			judge(link, name, NULL);
		}
	}
	if (mmap(NULL, 1, PROT_READ, MAP_PRIVATE, 0, 0) == MAP_FAILED)
		broke("stdin cannot be mapped: %s", strerror(errno));
	FILE *maps = fopen("/proc/self/maps", "r");
	for (char line[4096 + 100]; maps && fgets(line, sizeof line, maps);) {
		char *path = strchr(line, '/');
		line[strcspn(line, "\n")] = '\0';
		if (path)
			judge("/proc/self/maps", path, program);
	}
	held("no names");
}
