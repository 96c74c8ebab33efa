// Command run judges one program through the generated client and prints what
// came of it.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log"
	"net/http"
	"os"

	"judged.test/client/generated"
)

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	token := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("JUDGED_TOKEN"))
		return nil
	}
	c, err := generated.NewClientWithResponses(os.Getenv("JUDGED_URL"), generated.WithRequestEditorFn(token))
	if err != nil {
		log.Fatal(err)
	}
	content := []byte("1 2\n")
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	stored, err := c.PutBlobWithBodyWithResponse(ctx, digest, "application/octet-stream", bytes.NewReader(content))
	if err != nil || stored.StatusCode()/100 != 2 {
		log.Fatal(stored, err)
	}
	program, answer := "#!/bin/sh\nread -r a b\necho $((a + b))\n", []byte("3\n")
	limit, wait := int64(3000), "60s"
	submitted, err := c.PutJobWithResponse(ctx, "go", &generated.PutJobParams{Wait: &wait}, generated.Job{
		Program: &generated.File{Text: &program},
		Tests: &[]generated.Test{{Name: "1", Input: &generated.File{Blob: &digest},
			Answer: &generated.File{Base64: &answer}}},
		Limits: &generated.Limits{CpuTimeMs: &limit},
	})
	if err != nil {
		log.Fatal(err)
	}
	report := submitted.JSON200
	for report == nil || report.State != "done" {
		polled, err := c.GetJobWithResponse(ctx, "go", &generated.GetJobParams{Wait: &wait})
		if err != nil || polled.JSON200 == nil {
			log.Fatal(polled, err)
		}
		report = polled.JSON200
	}
	absent, err := c.GetJobWithResponse(ctx, "absent", nil)
	if err != nil || absent.ApplicationproblemJSON404 == nil {
		log.Fatal(absent, err)
	}
	fmt.Println(*report.Verdict, (*report.Tests)[0].Timing.LimitNs, absent.ApplicationproblemJSON404.Type)
}
