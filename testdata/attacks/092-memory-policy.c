/* Moves its memory to another node, or the memory of others: slower for
 * itself, or a neighbour's bandwidth. What must stop it: seccomp, and
 * cpuset.mems behind it. */
#include "attack.h"
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(void)
{
	unsigned long nodes[16] = {3}, none[16] = {0};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int node = 0, status = 0;
	refused(syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, nodes, 1024), "set_mempolicy");
	refused(syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0), "set_mempolicy to the default");
	refused(syscall(SYS_mbind, page, 4096, MPOL_BIND, nodes, 1024, 0), "mbind");
	refused(syscall(450 /* set_mempolicy_home_node */, page, 4096, 0, 0), "set_mempolicy_home_node");
	refused(syscall(SYS_migrate_pages, 0, 1024, none, nodes), "migrate_pages");
	refused(syscall(SYS_migrate_pages, 1, 1024, none, nodes), "migrate_pages of process 1");
	refused(syscall(SYS_move_pages, 0, 1, &page, &node, &status, 0), "move_pages");
	refused(syscall(SYS_move_pages, 0, 1, &page, NULL, &status, 0), "move_pages, asking only");
	held("memory stays where it is");
}
