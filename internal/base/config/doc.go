// Package config holds the settings of judged with their defaults and valid values, and loads them from the
// file, the environment and flags, in this order. configs/judged.toml explains each key; a test compares it
// with Default. Package intake validates jobs against the settings.
package config
