/* Includes a file that is not C: the compiler quotes its lines in its errors,
 * and these are in the report. What must stop it: the compiler runs in a sandbox
 * that shows no such file. */
#include "{canary}"

int main(void) { return 0; }
