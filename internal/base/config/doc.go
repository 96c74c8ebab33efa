// Package config holds every setting of judged: its default, where it may come
// from (file, then environment, then flags) and what values it may have.
// configs/judged.toml explains each key; a test holds it against Default. How a
// job is measured against the settings is package jobspec's.
package config
