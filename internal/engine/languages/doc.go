// Package languages turns sources into programs that the sandbox runs. The catalogue in configs/languages.toml defines
// how. Compilers run in sandboxes with separate limits, on housekeeping CPUs and without a network; they see the host's
// programs and libraries and the sources of one program.
//
// Sources that do not compile are a result, not an error. An error means that judged failed.
package languages
