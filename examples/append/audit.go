package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

var client = &http.Client{Timeout: 30 * time.Second}

// Append returns once the record is stored.
func Append(record map[string]any) (string, error) {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		return "", err
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	record["id"] = fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	record["timestamp"] = time.Now().UTC().Format(time.RFC3339Nano)
	body, err := json.Marshal(record)
	if err != nil {
		return "", err
	}
	pause := 200 * time.Millisecond
	for attempt := 1; ; attempt++ {
		problem, again, wait := send(body)
		if again == "" {
			return problem, nil
		}
		if again == "no" || attempt == 10 {
			return "", fmt.Errorf("not stored: %s", problem)
		}
		time.Sleep(max(pause, wait))
		pause = min(2*pause, 10*time.Second)
	}
}

// send gives the answer, whether to send again (empty if it is stored), and how long to wait before.
func send(body []byte) (answer, again string, wait time.Duration) {
	request, err := http.NewRequest("POST", os.Getenv("ANNALS_URL")+"/v1/project-logs", bytes.NewReader(body))
	if err != nil {
		return err.Error(), "no", 0
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("ANNALS_TOKEN"))
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return err.Error(), "yes", 0
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")); {
	case err != nil:
		return err.Error(), "yes", 0
	case response.StatusCode == 200 || response.StatusCode == 201:
		return string(text), "", 0
	case response.StatusCode == 429 || response.StatusCode == 503:
		return string(text), "yes", time.Duration(seconds) * time.Second
	default:
		return string(text), "no", 0
	}
}

func main() {
	stored, err := Append(map[string]any{"action": "volume_create", "actor": map[string]string{"type": "user", "id": "u-go"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(stored)
}
