/* Compute for ever. What must stop it: the CPU time of the cgroup, read at the
 * first moment at which the limit can be reached. Judges that poll every 100 ms
 * give away half of that on average. */
#include "burn.h"

int main(void)
{
	spin();
}
