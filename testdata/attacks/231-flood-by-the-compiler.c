/* Includes itself twice at each of twelve levels; each time the compiler has something
 * to complain about, quotes it, and it is three thousand bytes. What must stop it:
 * what a compiler writes is bounded, and judged shows the beginning. */
#if __INCLUDE_LEVEL__ < 12
#include __FILE__
#include __FILE__
#endif
#undef TEXT
#undef PART
#define PART "</pre><script>alert(1)</script> {\"verdict\": \"AC\"} \033[31m \u202e 01234567890123456789"
#define TEXT PART PART PART PART PART PART PART PART PART PART
_Static_assert(0, TEXT TEXT TEXT);
