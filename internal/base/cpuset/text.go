package cpuset

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// maxID is the largest CPU id: Linux supports at most 8192 CPUs (CONFIG_NR_CPUS on x86 with MAXSMP). It bounds the cost of
// a typing error in a range.
const maxID = 8191

// wordBits is the size of a word in the kernel's masks. It does not depend on the size of a long.
const wordBits = 32

// Parse parses a list as the kernel writes it ("0-3,7") or, after 0x, a hex mask ("0x4", "0xff,00000000": the
// lowest word last). Surrounding white space is ignored, and the empty text is the empty set. Ranges may
// overlap.
func Parse(s string) (Set, error) {
	text := strings.TrimSpace(s)
	if text == "" {
		return nil, nil
	}
	var (
		seen bitmap
		err  error
	)
	if mask, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		err = seen.addMask(mask)
	} else {
		err = seen.addList(text)
	}
	if err != nil {
		return nil, fmt.Errorf("parse CPU list %q: %w", s, err)
	}
	return seen.set(), nil
}

// bitmap collects the ids in a text. Its size is fixed, even if a text repeats CPUs.
type bitmap [(maxID + 1) / 64]uint64

func (b *bitmap) add(id int) { b[id/64] |= 1 << (id % 64) }

func (b *bitmap) addList(list string) error {
	for part := range strings.SplitSeq(list, ",") {
		first, last, err := parseRange(part)
		if err != nil {
			return err
		}
		for id := first; id <= last; id++ {
			b.add(id)
		}
	}
	return nil
}

func parseRange(part string) (first, last int, err error) {
	if strings.ContainsAny(part, ":/") {
		return 0, 0, fmt.Errorf("%q has a stride, which is not supported: list the CPUs one by one", part)
	}
	from, to, isRange := strings.Cut(part, "-")
	if first, err = parseID(from); err != nil {
		return 0, 0, err
	}
	if !isRange {
		return first, first, nil
	}
	if last, err = parseID(to); err != nil {
		return 0, 0, err
	}
	if last < first {
		return 0, 0, fmt.Errorf("range %q is reversed: write %d-%d", part, last, first)
	}
	return first, last, nil
}

func parseID(s string) (int, error) {
	// Not Atoi, which accepts a sign.
	id, err := strconv.ParseUint(s, 10, 31)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%q is not a CPU number: write a list like 2-3,7 or a mask like 0x8c", s)
	}
	if err != nil || id > maxID {
		return 0, fmt.Errorf("CPU %s is beyond %d, the last that Linux can have", s, maxID)
	}
	return int(id), nil
}

// addMask parses a mask without its 0x. A single word may have any length, as taskset prints it. With several
// words, all but the first must have 8 digits, as the kernel prints them; otherwise a digit is probably
// missing.
func (b *bitmap) addMask(mask string) error {
	words := strings.Split(mask, ",")
	for _, w := range words[1:] {
		if len(w) != wordBits/4 {
			return fmt.Errorf("word %q of the mask is not %d digits long", w, wordBits/4)
		}
	}
	digits := strings.Join(words, "")
	if words[0] == "" {
		return errors.New("mask without digits: write it like 0x8c")
	}
	for i := range len(digits) {
		v, err := strconv.ParseUint(digits[i:i+1], 16, 8)
		if err != nil {
			return fmt.Errorf("%q is not a hex digit", digits[i:i+1])
		}
		if err := b.addDigit(v, (len(digits)-1-i)*4); err != nil {
			return err
		}
	}
	return nil
}

func (b *bitmap) addDigit(v uint64, lowest int) error {
	for bit := range 4 {
		if v>>bit&1 == 0 {
			continue
		}
		id := lowest + bit
		if id > maxID {
			return fmt.Errorf("CPU %d is beyond %d, the last that Linux can have", id, maxID)
		}
		b.add(id)
	}
	return nil
}

func (b *bitmap) set() Set {
	var s Set
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			s = append(s, 64*i+bits.TrailingZeros64(word))
		}
	}
	return s
}

// String returns s in the kernel's list format: 0-3,7. The empty set is "".
func (s Set) String() string {
	var out []byte
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[end]+1 {
			end++
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(s[i]), 10)
		if end > i {
			out = append(out, '-')
			out = strconv.AppendInt(out, int64(s[end]), 10)
		}
		i = end + 1
	}
	return string(out)
}

// Mask returns s in the format of files such as /proc/irq/N/smp_affinity: 32-bit words in hex, the highest
// first, without 0x, which the kernel does not accept. The empty set is "0".
func (s Set) Mask() string {
	if len(s) == 0 {
		return "0"
	}
	words := make([]uint32, s[len(s)-1]/wordBits+1)
	for _, id := range s {
		words[id/wordBits] |= 1 << (id % wordBits)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%x", words[len(words)-1])
	for i := len(words) - 2; i >= 0; i-- {
		fmt.Fprintf(&out, ",%08x", words[i])
	}
	return out.String()
}
