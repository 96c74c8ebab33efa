package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"judged/internal/api"
	"judged/internal/base/poll"
	"judged/internal/engine"
	"judged/internal/engine/judge"
	"judged/internal/engine/measure"
	"judged/internal/host/slots"
	"judged/internal/sandbox"
	"judged/internal/service/dispatch"
	"judged/internal/service/judgehost"
	"judged/internal/timing/stats"
)

// domjudge is the connection of a judge node to a DOMjudge server.
type domjudge struct {
	client *judgehost.Client
	hosts  string                            // name of the judgehosts
	failed atomic.Pointer[error]             // reason why nothing is judged although the server answers
	judges atomic.Pointer[judgehost.Service] // nil while nothing is judged
}

var errNoSettings = errors.New("the settings of the DOMjudge server have not been read yet")

func (d *daemon) openDOMjudge() error {
	hosts, err := judgehost.HostsName(d.o.Config.Judgehost.Name)
	if err != nil {
		return &SettingError{"judgehost.name", err}
	}
	server := d.files.judgehost
	server.Log = d.o.Log
	client, err := judgehost.NewClient(server)
	if err != nil {
		return &SettingError{"judgehost.url", err}
	}
	d.domjudge = &domjudge{client: client, hosts: hosts}
	d.domjudge.failed.Store(&errNoSettings)
	d.o.Engine.Root = sandbox.RootHost // see judgehost.Options
	return nil
}

// ready returns the reason why nothing is judged, or nil.
func (d *domjudge) ready() error {
	if err := d.client.Lost(); err != nil {
		return fmt.Errorf("no work from the DOMjudge server: %w", err)
	}
	return *d.failed.Load()
}

// judgeForServer judges for the DOMjudge server until the drain has finished.
func (d *daemon) judgeForServer(drain, abort context.Context) {
	for pause := time.Second; drain.Err() == nil; pause = min(2*pause, api.RegisterEvery) {
		err := d.runJudgehosts(drain, abort)
		if drain.Err() != nil {
			return
		}
		d.domjudge.failed.Store(&err)
		d.o.Log.Error("cannot judge for the DOMjudge server; retrying", "url", d.o.Config.Judgehost.URL, "error", err)
		poll.Sleep(drain, pause)
	}
}

// runJudgehosts returns when the drain has finished, or with the reason why it cannot judge.
func (d *daemon) runJudgehosts(drain, abort context.Context) error {
	settings, err := judgehost.Await(drain, d.domjudge.client)
	if err != nil {
		return err
	}
	d.eng.SetJuryLimits(settings.JuryLimits())
	service, err := judgehost.New(drain, judgehost.Options{Client: d.domjudge.client, Config: settings,
		Engine: judgehostEngine{d.eng, d}, Pool: d.pool, Name: d.domjudge.hosts,
		Folder: filepath.Join(d.o.Config.DataDir, "judgehost"), Work: judgehost.WorkOf(d.o.Config.Sandbox), Log: d.o.Log})
	if err != nil {
		return err
	}
	d.domjudge.failed.Store(new(error))
	d.domjudge.judges.Store(service)
	service.Run(drain, abort)
	return nil
}

// judgehostEngine is the engine for judgehosts. It treats their tests like those of jobs.
type judgehostEngine struct {
	*engine.Engine
	d *daemon
}

// Judge implements judgehost.Engine.
func (e judgehostEngine) Judge(ctx context.Context, l *slots.Lease, t judge.Task, decided func(api.TestReport)) (
	api.Report, error) {
	leave, err := e.d.monitor.Admit(l.Slot())
	if err != nil {
		return api.Report{}, err
	}
	defer leave()
	t.Place = func(ctx context.Context, p stats.Placement) (measure.Place, error) {
		return dispatch.Place(ctx, e.Engine, e.d.monitor, l, p)
	}
	report, err := e.Engine.Judge(ctx, l.Slot(), t, decided)
	if err == nil {
		e.d.monitor.Observe(&report)
		e.d.metrics.Load().TestsDone(report.Tests)
	}
	return report, err
}

// namedSlots adds the judgehosts to the status of the slots.
type namedSlots struct {
	*dispatch.Monitor
	of *domjudge
}

// Snapshot implements httpapi.Slots.
func (s namedSlots) Snapshot() []api.SlotStatus {
	all := s.Monitor.Snapshot()
	service := s.of.judges.Load()
	for i := range all {
		all[i].Judgehost = judgehost.HostName(s.of.hosts, i)
		if service != nil {
			all[i].JudgehostEnabled = service.Enabled(i)
		}
	}
	return all
}
