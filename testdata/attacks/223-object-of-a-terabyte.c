/* One line of source that is a terabyte of data. What must stop it: compilers have
 * limits of their own. */
#include "attack.h"

__asm__(".data\n.fill 0x10000000000, 1, 0x41\n");

int main(void) { broke("assembled"); }
