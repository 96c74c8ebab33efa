#include "testlib.h"

int main(int, char **argv) {
    std::ifstream input(argv[1]), output(argv[2]);
    long long total, a, b;
    char more;
    input >> total;
    if (!(output >> a >> b) || output >> more) quit(wrongCode, "two numbers expected");
    if (a + b != total || a < 1 || b < 1) quit(wrongCode, "these are not two parts of the total");
    quit(okCode, "");
}
