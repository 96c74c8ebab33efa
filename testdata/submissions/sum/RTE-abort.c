/* Proves that abort() is SIGABRT: the program is not the first process of its namespace. */
#include <stdlib.h>

int main(void)
{
	abort();
}
