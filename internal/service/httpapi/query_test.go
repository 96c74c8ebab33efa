package httpapi

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"judged/internal/api"
	"judged/internal/jobs"
)

func TestFilterOf(t *testing.T) {
	for query, want := range map[string]jobs.Filter{
		"":                                {Limit: pageDefault},
		"state=done&after=x&limit=7":      {State: api.Done, After: "x", Limit: 7},
		"label=team%3D7&label=round%3D":   {Label: map[string]string{"team": "7", "round": ""}, Limit: pageDefault},
		"label=team%3D7&label=team%3D7":   {Label: map[string]string{"team": "7"}, Limit: pageDefault},
		"label=%40origin%3Djudge0":        {Label: map[string]string{"@origin": "judge0"}, Limit: pageDefault},
		"label=formula%3Da%3Db&limit=500": {Label: map[string]string{"formula": "a=b"}, Limit: 500},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		got, err := filterOf(values)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: error %v (-want +got)\n%s", query, err, diff)
		}
	}
	for _, query := range []string{"state=over", "label=team", "label=%3D7",
		"label=team%3D7&label=team%3D8", "label=te+am%3D7", "label=%40%40a%3D7", "label=team%3D%00", "label=team%3D%ff",
		"label=team%3D" + strings.Repeat("7", 256), "limit=0", "limit=501", "limit=x", "tenant=", "state=", "problem="} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := filterOf(values); err == nil {
			t.Errorf("%q: no error, %+v", query, f)
		}
	}
}
