#!/bin/sh
read n
echo $((n * 2))
