// Package configs holds the configuration that judged has built in.
package configs

import _ "embed"

// Languages is languages.toml.
//
//go:embed languages.toml
var Languages []byte
