/* Has the assembler copy a file of the host into the program, which shows it.
 * What must stop it: the assembler is in the compiler's sandbox. */
#include "attack.h"

__asm__(".data\n.global stolen\nstolen:\n.incbin \"{canary}\"\n.byte 0\n");
extern const char stolen[];

int main(void) { broke("%s", stolen); }
