/* Exit with 128 + 9, which is what a shell makes of SIGKILL: judges that start
 * programs by a shell take it for their own kill. What must stop it: judged reads
 * the wait status of the program itself. */
#include "attack.h"

int main(void)
{
	_exit(137);
}
