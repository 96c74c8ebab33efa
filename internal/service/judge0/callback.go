package judge0

import (
	"encoding/json"
	"net/http"
	"os"
	"time"

	"judged/internal/api"
	"judged/internal/jobs"
	"judged/internal/service/callback"
)

// CallbackFormat names the format of the callbacks of submissions.
const CallbackFormat api.CallbackFormat = kind

// Callback returns the format of Judge0's callbacks: the default members in base64, at most three tries. path returns
// the path of a blob.
func Callback(path func(digest string) (string, error)) callback.Format {
	return callback.Format{
		Method: http.MethodPut, Tests: true, AnyAnswer: true, Limit: 5 * time.Second,
		Pauses: []time.Duration{time.Second, 5 * time.Second},
		Body: func(rec jobs.Record) ([]byte, error) {
			read := func(digest string) ([]byte, error) {
				name, err := path(digest)
				if err != nil {
					return nil, err
				}
				return os.ReadFile(name)
			}
			members, err := submission{Record: rec, view: view{defaultFields, true, read}}.show()
			if err != nil {
				return nil, err
			}
			return json.Marshal(members)
		},
	}
}
