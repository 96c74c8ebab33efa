/* A checker that puts a link or another folder in the place of its feedback
 * folder, where judged looks for messages. What must stop it: the box around
 * the folder is root's. */
#define HELD_STATUS 42
#include "attack.h"
#include <sys/stat.h>

int main(int argc, char **argv)
{
	char folder[4096];
	if (argc < 5)
		return 1;
	snprintf(folder, sizeof folder, "%.*s", (int)strlen(argv[3]) - 1, argv[3]);
	refused(rename(folder, "gone"), "rename");
	refused(rename(folder, "/box/gone"), "rename");
	refused(rmdir(folder), "rmdir");
	refused(symlink("/", "/box/new"), "symlink");
	refused(mkdir("/box/new", 0777), "mkdir");
	refused(chdir("/box/feedback/..") == 0 ? rename("feedback", "work/gone") : -1, "rename");
	held("the folder stays");
}
