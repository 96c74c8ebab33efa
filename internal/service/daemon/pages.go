package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"judged/internal/jobs"
	"judged/internal/service/httpapi"
	"judged/internal/service/web"
)

// addPages adds the pages for people.
func (d *daemon) addPages(ctx context.Context, to *httpapi.Options) error {
	key, err := d.pageKey(ctx)
	if err != nil {
		return fmt.Errorf("prepare the key of sessions and links: %w", err)
	}
	to.LinkKey = key
	o := web.Options{Version: d.o.Version, Key: key}
	if d.judges() || d.sharesDatabase() {
		o.Checks = d.latestDoctor
	}
	if d.judges() {
		o.Topology, o.Doctor, o.Owner = d.eng.Topology, d.health.report, d.owner()
		o.Charts = d.monitor.Charts
	}
	door, err := web.Door(o)
	to.Doors = append(to.Doors, door)
	return err
}

// pageKey returns the key of sessions and links, which the first of all fronts has chosen.
func (d *daemon) pageKey(ctx context.Context) (key []byte, err error) {
	name := []string{jobs.OperatorValues, "page-key"}
	err = d.store.ChangeValues(ctx, "page-key", func(ctx context.Context, tx jobs.ValuesTx) error {
		err := tx.Read(ctx, func(_ int, value []byte) error { return json.Unmarshal(value, &key) }, name)
		if err != nil || key != nil {
			return err
		}
		key = web.NewKey()
		return tx.Set(ctx, key, name...)
	})
	return key, err
}
