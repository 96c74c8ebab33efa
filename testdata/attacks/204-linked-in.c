/* Asks the linker for what another submission, or judged, has left in folders
 * that compilers share: objects and libraries by path and by name. What must
 * stop it: each compilation has its own folders. */
#if __has_include("../out/program") || __has_include("/box/out/program") || __has_include("/tmp/attack")
#define FOUND 1
#endif
#include "attack.h"

int main(void)
{
#ifdef FOUND
	broke("there is something of another compilation");
#else
	held("empty folders");
#endif
}
