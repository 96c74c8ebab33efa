// Package checker compares the output of a program with the answer: token by token, byte for byte, line by line, or
// with a tolerance for numbers.
//
// The comparisons read both sides as streams: memory does not grow with the length of a token, a line or a file.
//
// The kinds, as Parse accepts them:
//
//   - tokens: sequences of bytes between ASCII white space must agree; letters
//     A-Z and a-z are equal, as in the default output validator of the ICPC
//     package format. Amount and kind of white space never matter.
//   - exact: byte for byte, the final newline included.
//   - lines: as exact, but white space at the end of a line and empty lines at
//     the end of the file are ignored, so CR LF equals LF.
//   - words: as lines, but the amount and kind of white space within a line do not matter either. It is what CMS and SIO
//     compare without a checker.
//   - float:EPS: as tokens, but where the answer's token is a number, the
//     output's must be one too and lie within EPS of it, absolutely or
//     relative to the answer. Numbers are those of the ICPC format of 2025-09:
//     [+-]?([0-9]*\.[0-9]+|[0-9]+\.|[0-9]+)([Ee][+-]?[0-9]+)?, hence no
//     infinities, no NaN, no hexadecimal. The comparison is exact in decimal; the
//     bound itself is accepted.
//   - kattis: the default output validator of ICPC and Kattis packages. Without flags it is tokens. Flags:
//     case_sensitive; space_change_sensitive (white space must be equal byte for byte); float_tolerance EPS,
//     float_absolute_tolerance EPS and float_relative_tolerance EPS (numbers as in float:EPS, within one bound or
//     either of two).
//   - dmoj: the standard checker of DMOJ. As tokens, but letters must have the same case, and two tokens must be in one
//     line, or in two, on both sides, where \r ends a line, too. Empty lines never matter. Flags: those of kattis for
//     numbers (floats of DMOJ); easy (each character must occur as often, without white space and the case of ASCII
//     letters); sorted (the same lines in any order, without empty ones); unordered (the same tokens in any order);
//     linecount (the same lines in the same places, without empty ones and white space at both ends: the score is the
//     fraction of the answer's lines that are equal).
//
// White space is space, \t, \n, \v, \f and \r. A NUL is an ordinary byte.
package checker
