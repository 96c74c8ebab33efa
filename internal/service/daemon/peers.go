package daemon

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// The daemons that share a database compare their settings: a job that one front refuses and another accepts, or
// reports that one front deletes, look random from outside.
const (
	peersEvery = time.Minute
	// peersAge is the time after which a daemon counts as ended.
	peersAge = 3 * peersEvery
	// peerValues is the prefix of the names under which daemons store their settings.
	peerValues = "front"
)

// peer is the data that a daemon stores about itself.
type peer struct {
	At       time.Time         `json:"at"` // by the clock of the database
	Settings map[string]string `json:"settings"`
}

// comparePeers stores the settings of this daemon and compares them with those of other daemons, until ctx is done.
func (d *daemon) comparePeers(ctx context.Context) {
	known := map[string]string{}
	tick := time.NewTicker(peersEvery)
	defer tick.Stop()
	for {
		differ, err := d.differingPeers(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			d.o.Log.Warn("cannot compare the settings with other fronts; retrying in a minute", "error", err)
		default:
			d.metrics.Load().FrontsDiffer(len(differ))
			for _, name := range slices.Sorted(maps.Keys(differ)) {
				if keys := strings.Join(differ[name], " "); known[name] != keys {
					d.o.Log.Warn("another front of this database has other settings; make them alike", "front", name,
						"settings", differ[name])
				}
			}
			known = map[string]string{}
			for name, keys := range differ {
				known[name] = strings.Join(keys, " ")
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// differingPeers returns the keys whose values differ on other daemons, by the names of those daemons.
func (d *daemon) differingPeers(ctx context.Context) (map[string][]string, error) {
	own := peer{At: d.store.Now(), Settings: d.config.Load().Shared()}
	if err := d.store.SetValue(ctx, own, peerValues, d.holder()); err != nil {
		return nil, err
	}
	differ := map[string][]string{}
	err := d.store.Values(ctx, func(name string, value []byte) error {
		var other peer
		if err := json.Unmarshal(value, &other); err != nil {
			return err
		}
		keys := differingKeys(own.Settings, other.Settings)
		if own.At.Sub(other.At) < peersAge && len(keys) > 0 {
			differ[name] = keys
		}
		return nil
	}, peerValues)
	return differ, err
}

// differingKeys returns the keys whose values differ, or that one side lacks. A daemon of another version may have
// other keys.
func differingKeys(a, b map[string]string) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	maps.DeleteFunc(all, func(key, _ string) bool {
		x, inA := a[key]
		y, inB := b[key]
		return inA && inB && x == y
	})
	return slices.Sorted(maps.Keys(all))
}
