package judgehost

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// overshoot returns how long a program may run beyond its time limit. The setting of DOMjudge is N seconds as "Ns" or N
// percent of the limit as "N%". Two of them are combined by + for the sum, | for the maximum and & for the minimum.
func overshoot(limit time.Duration, setting string) (time.Duration, error) {
	i := strings.IndexAny(setting, "+|&")
	if i < 0 {
		return overshootTerm(limit, setting)
	}
	a, err := overshootTerm(limit, setting[:i])
	if err != nil {
		return 0, err
	}
	b, err := overshootTerm(limit, setting[i+1:])
	if err != nil {
		return 0, err
	}
	switch setting[i] {
	case '+':
		return a + b, nil
	case '|':
		return max(a, b), nil
	}
	return min(a, b), nil
}

func overshootTerm(limit time.Duration, term string) (time.Duration, error) {
	const most = 1_000_000
	wrong := fmt.Errorf("read timelimit_overshoot: %q is not a number with s or %%; correct the setting of the server", term)
	if term == "" {
		return 0, wrong
	}
	n, err := strconv.Atoi(term[:len(term)-1])
	if err != nil || n < 0 || n > most {
		return 0, wrong
	}
	switch term[len(term)-1] {
	case 's':
		return time.Duration(n) * time.Second, nil
	case '%':
		return time.Duration(float64(limit) * float64(n) / 100), nil
	}
	return 0, wrong
}
