/* Has a source whose name is an option of the compiler. What must stop it: a name that begins like an option is given to the
 * compiler with its folder. */
#include "attack.h"

int main(void)
{
#ifdef BROKE
	broke("a name was taken for an option");
#else
	held("names are names");
#endif
}
