/* Writes what may break the one who quotes it: bytes that are no text, the end
 * of a string, escapes of terminals, more than fits. The checker quotes all of
 * it. What must stop it: a message is valid UTF-8 and has a bound. */
#include "attack.h"

int main(void)
{
	static const char rubbish[] = "\0\xff\xc3(\"},\x1b]0;x\a\x1b[2J\xed\xa0\x80\xf4\x90\x80\x80'; drop table jobs; --\r\n";
	for (int i = 0; i < 10000; i++)
		if (write(1, rubbish, sizeof rubbish - 1) < 0)
			return 1;
	return 0;
}
