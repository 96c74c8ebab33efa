package intake

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/base/config"
)

// widths are pools with the widest slots of their nodes.
type widths map[string]int

func (w widths) CheckPool(context.Context, string) error { return nil }

func (w widths) CheckCPUs(_ context.Context, pool string, cpus int) (most int, err error) {
	if pool == "away" {
		return 0, errors.New("away")
	}
	if most := w[pool]; most < cpus {
		return most, nil
	}
	return 0, nil
}

// TestCPUsOfPool checks that a job that no slot of its pool, or of the pool that decides, can ever judge is refused: it
// would wait for ever.
func TestCPUsOfPool(t *testing.T) {
	c := config.Default()
	c.Slots.Width = 4
	c.Pools = []config.Pool{{Name: "cloud", DecidedBy: "metal", CheckPercent: 1}, {Name: "wide-cloud", DecidedBy: "metal",
		CheckPercent: 1}}
	in := &Intake{Config: c, Pools: widths{"default": 2, "metal": 1, "cloud": 4, "wide-cloud": 4, "narrow": 1}}
	for _, tt := range []struct {
		pool string
		cpus int
		want string
	}{
		{"", 2, "[] <nil>"},
		{"", 3, `[{cpus 3; the widest slots of pool "default" have 2, send at most that}] <nil>`},
		{"narrow", 0, "[] <nil>"},
		{"narrow", 2, `[{cpus 2; the widest slots of pool "narrow" have 1, send at most that}] <nil>`},
		{"wide-cloud", 2, `[{cpus 2; the widest slots of pool "metal" have 1, send at most that}] <nil>`},
		{"cloud", 1, "[] <nil>"},
		{"away", 2, "[] away"},
	} {
		list, err := in.checkCPUs(t.Context(), api.Job{Pool: tt.pool, CPUs: tt.cpus})
		if diff := cmp.Diff(tt.want, fmt.Sprint([]api.FieldError(list), err)); diff != "" {
			t.Errorf("%d CPUs in pool %q (-want +got):\n%s", tt.cpus, tt.pool, diff)
		}
	}
	if list, err := (&Intake{Config: c}).checkCPUs(t.Context(), api.Job{CPUs: 2}); list != nil || err != nil {
		t.Errorf("without a fleet: %v, %v", list, err)
	}
}
