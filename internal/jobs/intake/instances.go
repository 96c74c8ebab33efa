package intake

import (
	"judged/internal/api"
	"judged/internal/base/text"
)

// managerFile is a file that a manager finds in its directory in addition to juryNames.
const managerFile = "input.txt"

// instances checks the members that only a manager, an interactor of the kind cms, has.
func (e *Errors) instances(i *api.Interactor) {
	if i.Kind != string(api.CMS) {
		e.check(i.Instances == 0, "interactor.instances", "only an interactor of the kind %s has them; leave it out",
			api.CMS)
		return
	}
	e.check(0 <= i.Instances && i.Instances <= api.MaxInstances, "interactor.instances",
		"%d is out of range; send 1 to %d, or leave it out for 1", i.Instances, api.MaxInstances)
	_, taken := i.Files[managerFile]
	e.check(!taken, "interactor.files["+text.Quoted(managerFile)+"]",
		"is the name of something else there; send another name")
}

// fillInteractor returns an interactor with its defaults.
func fillInteractor(i *api.Interactor) *api.Interactor {
	if i == nil || i.Kind != string(api.CMS) {
		return i
	}
	filled := *i
	setDefault(&filled.Instances, 1)
	return &filled
}
