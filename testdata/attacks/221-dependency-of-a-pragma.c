/* Names files of the host where a compiler opens files without being told to include
 * them. What must stop it: it does not see them, and says only that. */
#pragma GCC dependency "{canary}" secret
#pragma GCC dependency "/etc/shadow" secret
#pragma GCC pch_preprocess "{canary}"
#include_next "{canary}"
#include "attack.h"

int main(void) { broke("compiled"); }
