package cpuset

import "slices"

// Set is a set of logical CPU ids, sorted and without duplicates. The empty set is nil, and every function of this
// package returns nil for it. A Set is never modified, so it may be shared.
type Set []int

// New returns the set of ids, which may be unsorted and repeated.
func New(ids ...int) Set {
	if len(ids) == 0 {
		return nil
	}
	s := slices.Clone(ids)
	slices.Sort(s)
	return slices.Clip(slices.Compact(s))
}

// Contains reports whether id is in s.
func (s Set) Contains(id int) bool {
	_, found := slices.BinarySearch(s, id)
	return found
}

// Union returns the CPUs in s or o.
func (s Set) Union(o Set) Set {
	return New(slices.Concat(s, o)...)
}

// Intersect returns the CPUs in both s and o.
func (s Set) Intersect(o Set) Set {
	return s.filter(o.Contains)
}

// Minus returns the CPUs in s but not in o.
func (s Set) Minus(o Set) Set {
	return s.filter(func(id int) bool { return !o.Contains(id) })
}

func (s Set) filter(wanted func(int) bool) Set {
	var kept Set
	for _, id := range s {
		if wanted(id) {
			kept = append(kept, id)
		}
	}
	return kept
}

// IsSubsetOf reports whether every CPU of s is in o. The empty set is a subset
// of every set.
func (s Set) IsSubsetOf(o Set) bool {
	return !slices.ContainsFunc(s, func(id int) bool { return !o.Contains(id) })
}

// Overlaps reports whether s and o have a CPU in common.
func (s Set) Overlaps(o Set) bool {
	return slices.ContainsFunc(s, o.Contains)
}
