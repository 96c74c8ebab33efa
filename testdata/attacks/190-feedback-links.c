/* A checker whose messages are links: to a file of the host, through /proc, and
 * by way of a folder. Who reads them as root would put a file of the host into
 * the report. What must stop it: judged follows no link below the folder. */
#include "attack.h"
#include <libgen.h>

static void put_link(const char *folder, const char *name, const char *target)
{
	char path[4096];
	snprintf(path, sizeof path, "%s%s", folder, name);
	if (symlink(target, path) < 0)
		_exit(1);
}

int main(int argc, char **argv)
{
	char through[4096];
	if (argc < 5)
		return 1;
	put_link(argv[3], "judgemessage.txt", argv[4]);
	snprintf(through, sizeof through, "/proc/1/root%s", argv[4]);
	put_link(argv[3], "teammessage.txt", through);
	put_link(argv[3], "report", argv[4]);
	snprintf(through, sizeof through, "%s%s", argv[3], "judgemessage.txt");
	put_link(argv[3], "score.txt", through);
	return 43;
}
