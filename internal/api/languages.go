package api

// LanguageStatus is whether a host has a language.
type LanguageStatus struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	Available  bool     `json:"available"`
	Version    string   `json:"version,omitempty"`
	Reason     string   `json:"reason,omitempty"` // why it is not there
}
