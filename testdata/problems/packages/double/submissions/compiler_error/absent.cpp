#include <absent>
