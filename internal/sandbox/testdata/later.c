/* Opens what a C library opens while a program runs: the locale of LANG, a conversion, a time zone, a user. */
#include <iconv.h>
#include <locale.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void)
{
	time_t begin = 0;
	char text[32];
	const char *locale = setlocale(LC_ALL, "");
	setenv("TZ", "Asia/Tokyo", 1);
	strftime(text, sizeof text, "%H", localtime(&begin));
	printf("%s %d %s", locale ? locale : "none", iconv_open("UTF-8", "ISO-8859-2") != (iconv_t)-1, text);
	if (getenv("HOME"))
		printf(" %s", getpwuid(0) ? getpwuid(0)->pw_name : "nobody");
	return putchar('\n') < 0;
}
