package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"time"

	"judged/internal/service/httpapi"
)

// sessionTime is how long a reader stays signed in: a day of a contest.
const sessionTime = 12 * time.Hour

const sessionCookie = "judged_session"

// sealer encrypts the token of a reader for a cookie, so that all fronts accept it and none stores it. A token that is
// revoked ends its sessions.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, "judged session", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of sessions: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("prepare the key of sessions: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("prepare the key of sessions: %w", err)
	}
	return &sealer{aead}, nil
}

// seal returns the value of a cookie for a token.
func (s *sealer) seal(token string, until time.Time) string {
	text := append(binary.BigEndian.AppendUint64(nil, uint64(until.Unix())), token...)
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(sessionCookie)))
}

// open returns the token in a cookie, or "" if the cookie is not one of ours or has expired.
func (s *sealer) open(value string, now time.Time) string {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return ""
	}
	text, err := s.aead.Open(nil, nil, sealed, []byte(sessionCookie))
	if err != nil || len(text) < 8 || now.Unix() >= int64(binary.BigEndian.Uint64(text)) {
		return ""
	}
	return string(text[8:])
}

// NewKey returns a key for Options.
func NewKey() []byte {
	key := make([]byte, 32)
	rand.Read(key)
	return key
}

// token returns the token of a request's session, or "".
func (h *handler) token(r *http.Request) string {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	return h.sessions.open(c.Value, h.desk.Now())
}

func (h *handler) setCookie(w http.ResponseWriter, r *http.Request, value string, age time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: value, Path: "/", MaxAge: int(age / time.Second),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
}

// signInPage is the form for a token.
type signInPage struct {
	Next string // path to go to
	Why  string // why the last token was refused
	Open bool   // no token is needed
}

func (h *handler) signInForm(w http.ResponseWriter, r *http.Request) error {
	return h.showSignIn(w, r, http.StatusOK, signInPage{Next: localPath(r.URL.Query().Get("next"))})
}

func (h *handler) showSignIn(w http.ResponseWriter, r *http.Request, status int, p signInPage) error {
	p.Open = h.desk.Open()
	return h.show(w, r, status, page{Title: "Sign in", template: "signin.html", Guest: true, Body: p})
}

// maxForm limits the body of a form in bytes.
const maxForm = 16 << 10

func (h *handler) signIn(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	token := strings.TrimSpace(r.PostFormValue("token"))
	next := localPath(r.PostFormValue("next"))
	if _, err := h.desk.Enter(w, r, token, httpapi.Read); err != nil {
		p := h.desk.Explain(r, err)
		return h.showSignIn(w, r, p.Status, signInPage{Next: next, Why: sentence(p.Detail) + " " + sentence(p.NextStep)})
	}
	h.setCookie(w, r, h.sessions.seal(token, h.desk.Now().Add(sessionTime)), sessionTime)
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

func (h *handler) signOut(w http.ResponseWriter, r *http.Request) error {
	h.setCookie(w, r, "", -time.Second)
	http.Redirect(w, r, "/sign-in", http.StatusSeeOther)
	return nil
}

// localPath returns a path of this server, or "/": a link must not lead a reader elsewhere after the form.
func localPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") {
		return "/"
	}
	return path
}
