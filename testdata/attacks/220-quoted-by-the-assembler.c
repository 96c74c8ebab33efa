/* The assembler reads a file as source and complains about each of its lines, which
 * the compiler's output shows. What must stop it: the assembler is in the compiler's
 * sandbox, which has no such file. */
#include "attack.h"

__asm__(".include \"{canary}\"\n");

int main(void) { broke("assembled"); }
